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

/** One quality of a clip: the clip from so many of its layers. */
export interface Entry {
  label: string;
  /** What tells it apart from other qualities of the same motion. */
  short: string;
  item: Item;
  file: KineFile;
  index: number;
  layers: number | undefined;
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

/** A clip of several qualities is named after its target. */
const TARGET = / ?([\w-]+)<=(\S+)$/;

/** Every quality of every clip of every file, each with a name that tells it apart. */
export async function entriesOf(session: Session, onConnection: (state: "lost" | "resumed") => void): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const item of session.items) {
    const file = await openItem(item, session, onConnection);
    for (const [index, name] of file.names.entries()) {
      const told = name.replace(TARGET, " · $1 ≤ $2");
      const label = file.names.length === 1 ? item.name : session.items.length === 1 ? told : `${item.name} · ${told}`;
      const target = TARGET.exec(name);
      const short = target && session.items.length === 1 ? `${target[1]} ≤ ${target[2]}` : label;
      entries.push({ label, short, item, file, index, layers: undefined });
      // Of a file of several clips nothing more is read than what is shown, so its layers are not known yet.
      const layers = file.names.length === 1 ? (await file.clip(index)).layers : 1;
      for (let n = layers - 1; n > 0; n--) {
        const part = `${n} of ${layers} layers`;
        entries.push({ label: `${label} · ${part}`, short: part, item, file, index, layers: n });
      }
    }
  }
  return entries;
}

/** The original of a clip: the one of the same name (qualities add their target to it), or the one at the same place. */
export async function originalOf(clip: KineClip, index: number, file: KineFile): Promise<KineClip> {
  const plain = clip.name.replace(TARGET, "");
  const named = [clip.name, plain].map((name) => file.names.indexOf(name)).find((place) => place >= 0);
  return file.clip(named ?? Math.min(index, file.names.length - 1));
}
