import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { quote } from '#shared/core/quote.ts';
import { requireValue } from '#shared/core/schema/parse.ts';
import {
  keepKnown,
  keepMasked,
  maskSecrets,
  openSecrets,
  refuseMoved,
  sealSecrets,
  withoutMasked,
} from '#shared/core/schema/secret.ts';
import { openReadable, unreadableFields } from '#shared/core/schema/unreadable.ts';
import { datasourceTypes, findDatasourceType } from '#shared/datasources/types/index.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { Datasource } from '#shared/entities/tables/datasource.ts';
import { findUnknownFields, type UnknownFields } from '../../http/request/unknown-fields.ts';

type Stored = Pick<Datasource, 'id' | 'datasourceType' | 'datasourceOptions'>;

/**
 * Parses options by their type and returns them in clear text. A masked secret gets the stored value, and is refused if the address that
 * it is sent to changes. Fields unknown to the type are dropped, because they may be secret.
 */
export function readOptions(type: string, given: JsonObject, stored: JsonObject = {}): JsonObject {
  const whole = z.object({ datasourceOptions: schemaOf(type) });
  const before = { datasourceOptions: stored };
  const parsed = requireValue(whole, keepMasked(whole, { datasourceOptions: given }, before));
  refuseMoved(whole, {
    given: { datasourceOptions: given },
    next: asJSON(parsed),
    // The stored options, with the defaults of fields that the type did not have when they were stored.
    stored: asJSON(whole.safeParse(before).data ?? before),
  });
  return asJSON(parsed.datasourceOptions);
}

/**
 * Parses options of a bundle and returns them in clear text. A masked secret gets the stored value; it is left out if none is stored, or if
 * the address that it is sent to changes. `missing` has the paths of secrets that are left out.
 */
export function readIncomplete(type: string, given: JsonObject, stored: JsonObject) {
  const whole = z.object({ datasourceOptions: schemaOf(type) });
  const [before, after] = [{ datasourceOptions: stored }, { datasourceOptions: given }];
  const { known, missing } = keepKnown(whole, after, before);
  const parsed = requireValue(whole, known);
  const moved = isMoved(whole, {
    given: after,
    next: asJSON(parsed),
    stored: asJSON(whole.safeParse(before).data ?? before),
  });
  if (moved) return readWithoutStored(whole, after);
  return { options: withoutMasked(schemaOf(type), asJSON(parsed.datasourceOptions)), missing };
}

function readWithoutStored(
  whole: z.ZodObject<{ datasourceOptions: z.ZodType }>,
  given: { datasourceOptions: JsonObject },
) {
  const { known, missing } = keepKnown(whole, given, {});
  const options = asJSON(requireValue(whole, known).datasourceOptions);
  return { options: withoutMasked(whole.shape.datasourceOptions, options), missing };
}

function isMoved(schema: z.ZodType, update: Parameters<typeof refuseMoved>[1]): boolean {
  try {
    refuseMoved(schema, update);
    return false;
  } catch (error) {
    if (error instanceof AppError) return true;
    throw error;
  }
}

/** A schema of options turns JSON into JSON; serializing drops undefined fields. */
function asJSON(options: unknown): JsonObject {
  return JSON.parse(JSON.stringify(options));
}

export function sealOptions(secrets: KeyRing, { id, datasourceType, datasourceOptions }: Stored): JsonObject {
  return sealSecrets(schemaOf(datasourceType), datasourceOptions, { secrets, context: contextOf(id) });
}

/** The options in clear text, for a request to a worker or for a copy; never for a response. */
export function openOptions(secrets: KeyRing, { id, datasourceType, datasourceOptions }: Stored): JsonObject {
  return openSecrets(schemaOf(datasourceType), datasourceOptions, { secrets, context: contextOf(id) });
}

/** The options in clear text, for an update. A mask in it does not stand for a secret that no key here opens. */
export function openForUpdate(secrets: KeyRing, { id, datasourceType, datasourceOptions }: Stored): JsonObject {
  return openReadable(schemaOf(datasourceType), datasourceOptions, { secrets, context: contextOf(id) });
}

/** Paths of the secrets that no key here opens: `password`, `headers.0.value`. */
export function unreadableOptions(secrets: KeyRing, { id, datasourceType, datasourceOptions }: Stored): string[] {
  const definition = findDatasourceType(datasourceType);
  const fields =
    definition && unreadableFields(definition.options, datasourceOptions, { secrets, context: contextOf(id) });
  return (fields ?? []).map(({ path }) => path.join('.'));
}

/**
 * The options with masked secrets, for a response. Options of a type that was removed are left out, because its secret
 * fields are unknown.
 */
export function maskOptions({ datasourceType, datasourceOptions }: Stored): JsonObject {
  const definition = findDatasourceType(datasourceType);
  return definition ? maskSecrets(definition.options, datasourceOptions) : {};
}

/** The fields that are left out because the type does not know them. */
export function unknownOptions(type: string, given: JsonObject): UnknownFields {
  return findUnknownFields([schemaOf(type)], given, ['datasourceOptions']);
}

function schemaOf(type: string): z.ZodType {
  const definition = findDatasourceType(type);
  if (!definition)
    throw new AppError(
      'VALIDATION_ERROR',
      `datasourceType: expected one of ${datasourceTypes.join(', ')}, received ${quote(type)}`,
    );
  return definition.options;
}

const contextOf = sealedColumns.datasourceOptions.context;
