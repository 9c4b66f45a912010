/** A media type as `Content-Type` and `Content-Disposition` write it. */
export interface MediaType {
  /** In lower case, such as `text/xml`; empty if there is none. */
  type: string;
  /** Names in lower case. */
  parameters: ReadonlyMap<string, string>;
}

/** Reads a media type as senders write it: also with blanks around `=`, and values in double or single quotes. */
export function readMediaType(header = ''): MediaType {
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, single, plain = ''] of header.matchAll(PARAMETER)) {
    const key = name.toLowerCase();
    const value = quoted?.replace(/\\(.)/g, '$1') ?? single ?? plain.trim();
    if (!parameters.has(key)) parameters.set(key, value);
  }
  return { type: (header.split(';', 1)[0] ?? '').trim().toLowerCase(), parameters };
}

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^';]*)'|([^;]*))/g;

export function isJSONType(type: string): boolean {
  return /[/+]json$/.test(type);
}

/** Whether texts of the type may name their encoding at their beginning. */
export function isMarkupType(type: string): boolean {
  return /[/+](?:xml|html)$/.test(type);
}
