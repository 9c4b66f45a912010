import { readable, readableText } from '#shared/access/audit/redact.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { storable } from '#shared/db/storable.ts';

/** A value of a field, or the JSON of it that the ORM has made. */
export type Side = { value: unknown } | { json: string };

/** Characters of a side in which the first difference is looked for. */
const MAX_COMPARED = 1_000_000;
/** Characters that are shown of a value which is too large to be shown whole. */
const SHOWN = 1_800;
const BEFORE = 200;

/**
 * The old and the new value of a field, without secrets. Of a value that is too large, an excerpt from shortly before the first
 * difference is shown: `{"_truncated": "…", "_from": its offset, "_length": of the whole JSON}`.
 */
export function sidesOf(name: string, { from, to }: { from?: Side; to?: Side }): JsonObject {
  const shown: { from?: Json; to?: Json } = {
    ...(from && { from: shownOf(name, from) }),
    ...(to && { to: shownOf(name, to) }),
  };
  if (!from || !to || !(isCut(shown.from) || isCut(shown.to))) return shown;
  const [before, after] = [textOf(name, from), textOf(name, to)];
  if (before === undefined || after === undefined) return shown;
  const at = firstDifference(before, after);
  return {
    ...shown,
    ...(isCut(shown.from) && { from: excerptOf(before, at) }),
    ...(isCut(shown.to) && { to: excerptOf(after, at) }),
  };
}

/**
 * A value as the trail shows it: hidden if the field has the name of a secret, as in a body; cut as a whole if it is too
 * large.
 */
function shownOf(name: string, side: Side): Json {
  // Only the beginning of a long JSON is read.
  const shown = 'json' in side ? readableText(keyed(name, side.json)) : readable({ [name]: side.value ?? null });
  const whole = isJsonObject(shown) ? shown[name] : undefined;
  return whole === undefined ? shown : whole;
}

function keyed(name: string, json: string): string {
  return `{${JSON.stringify(name)}:${json}}`;
}

function isCut(shown: Json | undefined): boolean {
  return isJsonObject(shown) && '_truncated' in shown;
}

/** The JSON of a side, without secrets; its beginning if it is larger than what is compared. */
function textOf(name: string, side: Side): string | undefined {
  const value = 'json' in side ? parsed(side.json) : { value: side.value };
  if (!value) return undefined;
  const shown = readable({ [name]: value.value }, { maxLength: MAX_COMPARED });
  if (!isJsonObject(shown)) return undefined;
  const { _truncated: beginning } = shown;
  return typeof beginning === 'string' ? beginning : JSON.stringify(shown[name]);
}

function parsed(json: string): { value: unknown } | undefined {
  return json.length > MAX_COMPARED ? undefined : { value: JSON.parse(json) };
}

function firstDifference(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

function excerptOf(text: string, at: number): JsonObject {
  const from = Math.max(0, Math.min(at, text.length) - BEFORE);
  return { _truncated: storable(text.slice(from, from + SHOWN)), _from: from, _length: text.length };
}
