import { AppError } from '#shared/core/errors.ts';

/** Header of a message: a letter, and a length that includes itself. */
const HEADER = 5;
const SHORTEST = 4;
const LONG_ROW_BYTES = 64 * 1024;
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
/** Errors and notices, which the driver keeps as texts: a function of a tenant may raise one of any length. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * Checks a server's messages before the driver reads them. On a text without its end the driver would loop for ever and block the
 * process; a message that is too long it would buffer in memory. `announce` is called with the length of a long row before the row arrives.
 */
export function createMessageCheck(announce: (bytes: number) => void = () => undefined): (data: Buffer) => void {
  const header = Buffer.alloc(HEADER);
  let headerBytes = 0;
  let remaining = 0;
  let texts: Buffer[] | null = null;

  function begin(): void {
    const length = header.readInt32BE(1);
    checkLength(length, kind());
    remaining = length - SHORTEST;
    if (length > LONG_ROW_BYTES && kind() === 'D') announce(length);
    // Rows, nearly all messages, have no NUL-terminated texts.
    texts = isWhole[kind()] ? [] : null;
    if (remaining === 0) end();
  }

  function end(): void {
    if (texts && !isWhole[kind()]?.(Buffer.concat(texts))) throw broken();
    headerBytes = 0;
  }

  function kind(): string {
    return String.fromCharCode(header[0] ?? 0);
  }

  function readHeader(data: Buffer): number {
    const read = data.copy(header, headerBytes);
    headerBytes += read;
    if (headerBytes === HEADER) begin();
    return read;
  }

  function readBody(data: Buffer): number {
    const part = data.subarray(0, remaining);
    texts?.push(part);
    remaining -= part.length;
    if (remaining === 0) end();
    return part.length;
  }

  return (data) => {
    for (let at = 0; at < data.length; ) {
      const unread = data.subarray(at);
      at += headerBytes === HEADER ? readBody(unread) : readHeader(unread);
    }
  };
}

function checkLength(length: number, kind: string): void {
  if (length < SHORTEST) throw broken();
  if (length > MAX_TEXT_BYTES && 'EN'.includes(kind))
    throw new AppError('DB_ERROR', 'The server has written an error or a notice that is larger than 16 MB');
  if (length > MAX_MESSAGE_BYTES && kind !== 'D') throw broken();
  if (length > MAX_MESSAGE_BYTES) throw new AppError('DB_ERROR', 'One row of the answer is larger than 128 MB');
}

function broken(): Error {
  return new Error('The server does not keep to the protocol');
}

/** Checks that every text in a message is terminated, by the letter of the message. */
const isWhole: Readonly<Record<string, (body: Buffer) => boolean>> = {
  /** Authentication request; only the list of SASL mechanisms has texts. */
  R: (body) => body.length >= 4 && (body.readInt32BE(0) !== 10 || isList(body.subarray(4))),
  E: isList,
  N: isList,
  C: (body) => body.at(-1) === 0,
  S: hasTwoTexts,
  A: (body) => hasTwoTexts(body.subarray(4)),
  T: hasColumns,
};

/** Whether the body is a list of texts that ends with an empty one. */
function isList(body: Buffer): boolean {
  return body.at(-1) === 0 && (body.length === 1 || body.at(-2) === 0);
}

function hasTwoTexts(body: Buffer): boolean {
  return body.at(-1) === 0 && body.indexOf(0) < body.length - 1;
}

/** A name and eighteen bytes for each field. */
function hasColumns(body: Buffer): boolean {
  if (body.length < 2) return false;
  let at = 2;
  for (let left = body.readUInt16BE(0); left > 0; left -= 1) {
    const end = body.indexOf(0, at);
    if (end < 0) return false;
    at = end + 1 + 18;
  }
  return at <= body.length;
}
