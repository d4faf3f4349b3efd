// A link that holds everything: what is written goes compressed into the address's fragment, which browsers send nowhere.

import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";

/** The most that a link is unpacked to, in bytes: a short one could stand for gigabytes. */
const LARGEST = 8 * 1024 * 1024;

/** A value as text for a fragment: letters, digits, `-` and `_`. */
export function encode(value: unknown): string {
  const packed = deflateSync(strToU8(JSON.stringify(value)), { level: 9 });
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The value of such a text. Throws when it is none, or stands for too much. */
export function decode(text: string): unknown {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  // Unpacking ends where this array does.
  const room = new Uint8Array(LARGEST);
  const unpacked = inflateSync(packed, { out: room });
  if (unpacked.length === LARGEST) throw new Error("the link holds more than 8 MiB");
  return JSON.parse(strFromU8(unpacked));
}
