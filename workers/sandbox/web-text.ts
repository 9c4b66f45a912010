import type { CallHost, WebBytes } from './web-bytes.ts';

/** Encoders and decoders of texts. Runs inside a fresh context, as text: it can use its parameters but nothing else of this module. */
export function webText(call: CallHost, { utf8, latin1, binaryOf, toBase64, fromBase64, bytesOf }: WebBytes) {
  return {
    TextEncoder: class TextEncoder {
      readonly encoding = 'utf-8';
      encode(text = ''): Uint8Array {
        return utf8(String(text));
      }
      encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
        let read = 0;
        let written = 0;
        for (const character of String(text)) {
          const bytes = utf8(character);
          if (written + bytes.length > target.length) break;
          target.set(bytes, written);
          written += bytes.length;
          read += character.length;
        }
        return { read, written };
      }
    },
    TextDecoder: class TextDecoder {
      readonly encoding: string;
      readonly fatal: boolean;
      readonly ignoreBOM: boolean;
      constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
        const encoding = call('encodingOf', String(label));
        if (typeof encoding !== 'string') throw new RangeError(`The encoding "${label}" is not known`);
        this.encoding = encoding;
        this.fatal = Boolean(fatal);
        this.ignoreBOM = Boolean(ignoreBOM);
      }
      decode(data: unknown = new Uint8Array()): string {
        const text = call('decode', this.encoding, bytesOf(data), this.fatal, this.ignoreBOM);
        if (typeof text !== 'string') throw new TypeError(`The bytes are not ${this.encoding}`);
        return text;
      }
    },
    atob: (text: unknown) => binaryOf(fromBase64(String(text))),
    btoa: (text: unknown) => toBase64(latin1(String(text))),
  };
}
