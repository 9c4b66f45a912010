import type { JsonObject } from '#shared/core/json.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';
import type { BundledType } from '../assets/bundle-types.ts';
import { savers } from './savers.ts';

/**
 * Fields of a payload that no import reads: the bodies that create and update such an asset do not have them, or the owners of this
 * tenant decide.
 */
export function unknownIn({ type, payload }: { type: BundledType; payload: JsonObject }): UnknownFields {
  const { create, update } = savers[type];
  const { isOfferedAsTool, ...others } = payload;
  const schemas = [create.body, update.body].flatMap((schema) => schema ?? []);
  const { fields, count } = findUnknownFields(schemas, others);
  if (isOfferedAsTool === undefined) return { fields, count };
  return { fields: [{ path: ['isOfferedAsTool'], message: NOT_OFFERED }, ...fields], count: count + 1 };
}

const NOT_OFFERED = 'a bundle offers nothing as a tool; the owner of the asset here does';
