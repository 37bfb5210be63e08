// What the page was asked to show: files on the server that sent it, or data inside the page itself.

import { type KineClip, type KineFile, open } from "../reader.js";

export interface Item {
  name: string;
  url?: string;
  /** The file itself, for pages that stand alone. */
  base64?: string;
}

export interface Session {
  title?: string;
  items: Item[];
  reference: Item | null;
  /** Keeps the skeleton of files that only refer to it. */
  skeleton?: Item | null;
}

/** One clip of one file. */
export interface Entry {
  label: string;
  item: Item;
  file: KineFile;
  index: number;
}

export async function readSession(): Promise<Session> {
  const inside = document.getElementById("session");
  if (inside) return JSON.parse(inside.textContent ?? "");
  const answer = await fetch("session.json");
  if (!answer.ok) throw new Error(`the server does not say what to play (${answer.status})`);
  return answer.json();
}

export async function openItem(item: Item, session: Session, onConnection?: (state: "lost" | "resumed") => void): Promise<KineFile> {
  const skeleton = session.skeleton ? placeOf(session.skeleton) : undefined;
  return open(placeOf(item), { ...(skeleton && { skeleton }), ...(onConnection && { onConnection }) });
}

function placeOf(item: Item): string | Uint8Array<ArrayBuffer> {
  if (item.base64 === undefined) return new URL(item.url ?? "", location.href).href;
  return Uint8Array.from(atob(item.base64), (letter) => letter.charCodeAt(0));
}

/** Every clip of every file, each with a name that tells it apart. */
export async function entriesOf(session: Session, onConnection: (state: "lost" | "resumed") => void): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const item of session.items) {
    const file = await openItem(item, session, onConnection);
    file.names.forEach((name, index) => {
      entries.push({ label: file.names.length > 1 ? `${item.name} · ${name}` : item.name, item, file, index });
    });
  }
  return entries;
}

/** The original of a clip: the one of the same name, or the one at the same place. */
export async function originalOf(clip: KineClip, index: number, file: KineFile): Promise<KineClip> {
  const named = file.names.indexOf(clip.name);
  return file.clip(named >= 0 ? named : Math.min(index, file.names.length - 1));
}
