import { isUtf8 } from 'node:buffer';

/** Bytes that are no text of their charset, or a charset that is not known. The message is for the sender. */
export class NotText extends Error {
  readonly isUnknownCharset: boolean;

  constructor(message: string, { isUnknownCharset = false } = {}) {
    super(message);
    this.isUnknownCharset = isUnknownCharset;
  }
}

interface Declared {
  /** The charset that the message names. */
  charset?: string | undefined;
  /** Whether the text is XML or HTML, which may name its encoding at its beginning. */
  isMarkup?: boolean;
}

/**
 * Decodes a text in the charset that its message names, else by its byte order mark, else as UTF-8. Throws `NotText` instead of
 * putting U+FFFD where bytes are none of the charset.
 */
export function decodeText(bytes: Uint8Array, declared: Declared = {}): string {
  const label = labelOf(bytes, declared);
  const decoder = decoderOf(label);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new NotText(`byte ${faultIn(bytes, label)} is not ${decoder.encoding}`);
  }
}

/** Decodes a text as far as it can be read, for messages to people. */
export function excerptText(bytes: Uint8Array, declared: Declared = {}): string {
  const label = labelOf(bytes, declared);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Whether a declared charset, or none, means UTF-8. */
export function isUTF8Label(charset = 'utf-8'): boolean {
  return /^utf-?8$/i.test(charset);
}

function labelOf(bytes: Uint8Array, { charset = '', isMarkup = false }: Declared): string {
  const mark = markOf(bytes);
  const named = charset || mark || (isMarkup ? encodingIn(bytes) : undefined) || 'utf-8';
  // UTF-16 alone does not say which byte comes first: the mark does.
  return mark !== undefined && /^utf-?16$/i.test(named) ? mark : named;
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true });
  } catch {
    throw new NotText(`the charset ${JSON.stringify(label.slice(0, 50))} is not known`, { isUnknownCharset: true });
  }
}

/** The encoding that a byte order mark names; undefined without one. */
export function markOf(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/** Bytes in which a document names its encoding. */
const BEGINNING_BYTES = 1_024;

/** The encoding that a document of XML or HTML names, or in which its `<?` is written. */
function encodingIn(bytes: Uint8Array): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, BEGINNING_BYTES)).toString('latin1');
  if (beginning.startsWith('<\0?\0')) return 'utf-16le';
  if (beginning.startsWith('\0<\0?')) return 'utf-16be';
  const inProlog = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']/.exec(beginning);
  return (inProlog ?? /<meta\s[^>]*?\bcharset\s*=\s*["']?([\w.:-]+)/i.exec(beginning))?.[1];
}

const STEP_BYTES = 4_096;

/** Index of the first byte that is no part of the text. */
function faultIn(bytes: Uint8Array, label: string): number {
  const at = failsAt(bytes, label);
  // A decoder gives up after the beginning of a character that does not go on.
  for (let start = at; start > at - 4; start -= 1) if (isUtf8(bytes.subarray(0, start))) return start;
  return at;
}

/** Index of the byte at which a decoder gives up. */
function failsAt(bytes: Uint8Array, label: string): number {
  const from = firstFault(bytes, new TextDecoder(label, { fatal: true }), { from: 0, step: STEP_BYTES });
  const again = new TextDecoder(label, { fatal: true });
  again.decode(bytes.subarray(0, from), { stream: true });
  return firstFault(bytes, again, { from, step: 1 });
}

/** Start of the first step that fails; the length if the text only ends too early. */
function firstFault(bytes: Uint8Array, decoder: TextDecoder, { from, step }: { from: number; step: number }): number {
  for (let at = from; at < bytes.length; at += step) {
    try {
      decoder.decode(bytes.subarray(at, at + step), { stream: true });
    } catch {
      return at;
    }
  }
  return bytes.length;
}
