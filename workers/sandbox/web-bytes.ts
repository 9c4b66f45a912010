/** Conversions of texts and bytes, for the other globals. Runs inside a fresh context, as text: it can use its parameters but nothing else of this module. */
export function webBytes() {
  return { utf8, latin1, binaryOf, toBase64, fromBase64, hexOf, bytesOf, named };

  function utf8(text: string): Uint8Array {
    const encoded = unescape(encodeURIComponent(text.toWellFormed()));
    const bytes = new Uint8Array(encoded.length);
    for (let at = 0; at < encoded.length; at += 1) bytes[at] = encoded.charCodeAt(at);
    return bytes;
  }

  function latin1(text: string): Uint8Array {
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 255)
        throw named('InvalidCharacterError', 'The text has characters above U+00FF: encode it with TextEncoder');
      bytes[at] = code;
    }
    return bytes;
  }

  function binaryOf(bytes: Uint8Array): string {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
    return text;
  }

  function toBase64(bytes: Uint8Array): string {
    return (bytes as Uint8Array & { toBase64(): string }).toBase64();
  }

  function fromBase64(text: string): Uint8Array {
    const written = text.replace(/[\t\n\f\r ]/g, '');
    const padded = written.length % 4 === 0 ? written.replace(/={1,2}$/, '') : written;
    if (!/^[A-Za-z0-9+/]*$/.test(padded) || padded.length % 4 === 1)
      throw named('InvalidCharacterError', 'The text is not base64');
    return (Uint8Array as unknown as { fromBase64(text: string): Uint8Array }).fromBase64(padded);
  }

  function hexOf(bytes: Uint8Array): string {
    let text = '';
    for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
    return text;
  }

  /** The bytes of a text, a buffer or a view. */
  function bytesOf(data: unknown): Uint8Array {
    if (typeof data === 'string') return utf8(data);
    if (ArrayBuffer.isView(data))
      return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength).slice();
    if (data instanceof ArrayBuffer) return new Uint8Array(data).slice();
    throw new TypeError('expected bytes: an ArrayBuffer or a view of one');
  }

  function named(name: string, message: string): Error {
    const error = new Error(message);
    error.name = name;
    return error;
  }
}

export type WebBytes = ReturnType<typeof webBytes>;

/** Calls a function of the host: see `hostFunctions`. */
export type CallHost = (name: string, ...args: unknown[]) => unknown;
