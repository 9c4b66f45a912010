/** Secrets in options that no key here opens. */
import type { z } from 'zod';
import type { Json, JsonObject } from '../json.ts';
import { isSealed, keyIDOf } from '../key-ring.ts';
import { eachSecret, fieldContext, type Path, type SealContext, UNREADABLE } from './secret.ts';

/** Opens what the keys here open, for an update. A mask cannot stand for one of the others. */
export function openReadable(schema: z.ZodType, options: JsonObject, { secrets, context }: SealContext): JsonObject {
  return eachSecret(schema, options, (value, path) => {
    if (!isSealed(value)) return value;
    const text = secrets.tryOpen(value, fieldContext(context, path));
    return text === undefined ? UNREADABLE : (JSON.parse(text) as Json);
  });
}

export interface UnreadableField {
  path: Path;
  /** The name of the key that sealed it. */
  keyID: string;
}

/** The secrets that no key here opens. */
export function unreadableFields(
  schema: z.ZodType,
  options: JsonObject,
  { secrets, context }: SealContext,
): UnreadableField[] {
  const found: UnreadableField[] = [];
  eachSecret(schema, options, (value, path) => {
    const keyID = keyThatIsMissing(value, { secrets, context: fieldContext(context, path) });
    if (keyID !== undefined) found.push({ path, keyID });
    return value;
  });
  return found;
}

/** The name of the key that sealed a value which no key here opens; undefined for other values. */
export function keyThatIsMissing(value: Json, { secrets, context }: SealContext): string | undefined {
  return isSealed(value) && !secrets.canOpen(value, context) ? keyIDOf(value) : undefined;
}
