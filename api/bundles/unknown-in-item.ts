import type { JsonObject } from '#shared/core/json.ts';
import { findUnknownFields, type UnknownFields } from '../http/request/unknown-fields.ts';
import type { BundledType } from './bundle-types.ts';
import { savers } from './savers.ts';

/** Fields that no import reads: those of a payload are the fields of the bodies by which the asset is saved. */
export function unknownIn({ type, payload }: { type: BundledType; payload: JsonObject }): UnknownFields {
  const { create, update } = savers[type];
  return findUnknownFields(
    [create.body, update.body].flatMap((schema) => schema ?? []),
    payload,
  );
}
