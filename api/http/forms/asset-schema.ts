import { z } from 'zod';
import { looseObject } from '#shared/core/record.ts';
import { Message } from '../fields/response-parts.ts';
import { formOf } from './form.ts';

/** The schema of the config of a kind of assets. */
export const AssetSchema = z.object({
  schemas: z
    .object({ assetType: z.string(), description: z.string(), schema: looseObject({}).describe('JSON Schema') })
    .meta({ id: 'AssetSchema' }),
  message: Message,
});

/**
 * Describes a config by its schema, which is written out at the top instead of as a reference, because editors begin
 * there.
 */
export function describeAsset(assetType: string, description: string, config: z.ZodType) {
  const { $ref, $defs = {}, ...rest } = formOf(config).schema;
  const name = $ref?.split('/').at(-1) ?? '';
  const { [name]: shape, ...others } = $defs;
  return { assetType, description, schema: shape ? { ...rest, ...shape, $defs: others } : { $defs, ...rest } };
}
