import type { JsonObject } from '#shared/core/json.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';
import type { BundledType } from '../assets/bundle-types.ts';
import { savers } from './savers.ts';

/** Fields of a payload that no import reads: the bodies that create and update such an asset do not have them. */
export function unknownIn({ type, payload }: { type: BundledType; payload: JsonObject }): UnknownFields {
  const { create, update } = savers[type];
  return findUnknownFields(
    [create.body, update.body].flatMap((schema) => schema ?? []),
    payload,
  );
}
