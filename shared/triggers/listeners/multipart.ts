import { isUtf8 } from 'node:buffer';
import { decodeText, NotText } from '../../core/charset.ts';
import { listFields } from '../../core/form-fields.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { readMediaType } from '../../core/media-type.ts';
import { invalidField } from '../../core/schema/issues.ts';
import { filePathOf } from '../../datasources/fields/file-info.ts';
import { cleanFileName } from '../../datasources/files/file-name.ts';
import { runIDOf } from './run-id.ts';

export const MULTIPART = 'multipart/form-data';

/** A larger file is in the tenant's store, and the event has a reference to it. */
export const INLINE_BYTES = 64 * 1024;
/** Far more than forms have. */
const MAX_PARTS = 1_000;

interface Part {
  name: string;
  /** Undefined for a field. */
  fileName: string | undefined;
  contentType: string;
  bytes: Buffer;
}

/** A file of a delivery that belongs into the tenant's store. */
export interface DeliveredFile {
  id: string;
  fileName: string;
  bytes: Buffer;
}

/** The event whose body a form is. References to its large files name it. */
export interface EventKey {
  id: string;
  tenantID: string;
}

/** The fields and files of a form by name; those that are repeated are lists. */
export function multipartFields(body: Buffer, boundary: string | undefined, event: EventKey): JsonObject {
  const parts = readParts(body, boundary);
  return listFields(parts.map((part, index): [string, Json] => [part.name, presentPart(part, index, event)]));
}

/** The files of a form that are too large for the event itself. */
export function largeFilesOf(
  body: Buffer,
  boundary: string | undefined,
  { id }: Pick<EventKey, 'id'>,
): DeliveredFile[] {
  if (body.length <= INLINE_BYTES) return [];
  return readParts(body, boundary).flatMap(({ fileName, bytes }, index) =>
    fileName === undefined || bytes.length <= INLINE_BYTES ? [] : [{ id: fileIDAt(id, index), fileName, bytes }],
  );
}

/** The same for every attempt at the event, so that the file is stored once. */
function fileIDAt(eventID: string, index: number): string {
  return runIDOf(eventID, `file ${index}`);
}

function presentPart({ fileName, contentType, bytes }: Part, index: number, { id, tenantID }: EventKey): Json {
  if (fileName === undefined) return textOf(bytes, contentType);
  const about = { fileName, fileType: readMediaType(contentType).type, fileSize: bytes.length };
  if (bytes.length <= INLINE_BYTES) return { ...about, base64: bytes.toString('base64') };
  const fileID = fileIDAt(id, index);
  const url = `/api/v1/tenants/${tenantID}/datasources/files/${fileID}`;
  return { ...about, fileID, filePath: filePathOf(fileID), url };
}

/** A field as a text; as base64 what is no text, or has a NUL. */
function textOf(bytes: Buffer, contentType: string): Json {
  try {
    const text = decodeText(bytes, { charset: readMediaType(contentType).parameters.get('charset') ?? 'utf-8' });
    if (!text.includes('\0')) return text;
  } catch (error) {
    if (!(error instanceof NotText)) throw error;
  }
  return { base64: bytes.toString('base64') };
}

/** Reads the parts of a form, which is in memory as a whole. Throws VALIDATION_ERROR if it is none. */
function readParts(body: Buffer, boundary = ''): Part[] {
  if (boundary === '') throw invalidField('body', 'expected a boundary in the Content-Type of multipart/form-data');
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const parts: Part[] = [];
  let from = endOfFirst(body, delimiter);
  for (let count = 0; !isLast(body, from); count += 1) {
    const head = body.indexOf('\r\n', from);
    const end = head < 0 ? -1 : body.indexOf(delimiter, head);
    if (end < 0) throw malformed('ends too early');
    if (body.toString('latin1', from, head).trim() !== '') throw malformed('has other text behind a delimiter');
    if (count === MAX_PARTS) throw malformed(`has more than ${MAX_PARTS} parts`);
    const part = readPart(body.subarray(head + 2, Math.max(end, head + 2)));
    if (part) parts.push(part);
    from = end + delimiter.length;
  }
  return parts;
}

/** Index behind the first delimiter, which has no line break before it at the beginning of the body. */
function endOfFirst(body: Buffer, delimiter: Buffer): number {
  const isAtStart = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2));
  const at = isAtStart ? -2 : body.indexOf(delimiter);
  if (at < 0 && !isAtStart) throw malformed('has none of the delimiters of its boundary');
  return at + delimiter.length;
}

function isLast(body: Buffer, at: number): boolean {
  return body[at] === 0x2d && body[at + 1] === 0x2d;
}

/** Undefined for a part without a name, and for the file of an input in which none was chosen. */
function readPart(part: Buffer): Part | undefined {
  const isBare = part.subarray(0, 2).equals(Buffer.from('\r\n'));
  const end = isBare ? 0 : part.indexOf('\r\n\r\n');
  if (end < 0) throw malformed('has a part without an end of its headers');
  const headers = headersOf(part.subarray(0, end));
  const bytes = part.subarray(isBare ? 2 : end + 4);
  const { parameters } = readMediaType(headers.get('content-disposition'));
  const name = parameters.get('name');
  const fileName = extendedName(parameters.get('filename*')) ?? parameters.get('filename');
  if (name === undefined || (fileName === '' && bytes.length === 0)) return undefined;
  return {
    name,
    fileName: fileName === undefined ? undefined : baseOf(fileName),
    contentType: headers.get('content-type') ?? '',
    bytes,
  };
}

function headersOf(head: Buffer): Map<string, string> {
  if (!isUtf8(head)) throw malformed('has a part whose headers are not UTF-8');
  const lines = head.toString('utf8').split('\r\n');
  return new Map(
    lines.map((line) => {
      const cut = line.indexOf(':');
      return [line.slice(0, cut).trim().toLowerCase(), line.slice(cut + 1).trim()];
    }),
  );
}

/** RFC 8187: `UTF-8''%e2%82%ac.csv`. */
function extendedName(text: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(text ?? '')?.[1];
  try {
    return encoded && decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** The name that an upload of the file would have; some clients send a path. */
function baseOf(fileName: string): string {
  return cleanFileName(/[^/\\]*$/.exec(fileName)?.[0]);
}

function malformed(why: string) {
  return invalidField('body', `is not valid multipart/form-data: it ${why}`);
}
