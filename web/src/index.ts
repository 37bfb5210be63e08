export { codecs } from "./codecs/index.js";
export { KineError, type ErrorKind } from "./errors.js";
export { HttpSource, type HttpOptions } from "./http-source.js";
export { type LocalTransforms, type Pose, Rig } from "./kinematics.js";
export type { Channel, Frames, Joint, Layout, Skeleton, Topology } from "./model.js";
export { KineClip, KineFile, open, type OpenOptions, type Place } from "./reader.js";
export { KineStream, type StreamOptions, type StreamState } from "./stream.js";
export { BlobSource, type ByteSource, BytesSource } from "./source.js";
