import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { readable } from '#shared/workflow/reserved.ts';
import { Flag } from '../../http/fields/flag.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { exampleVariable, exampleVariableCreate, exampleVariableUpdate } from './examples.ts';

export const VariableID = z.object({ variableID: idOf('variable') });

/** A name that can stand behind a dot, in templates and in code: `vars.name`. */
const Name = z
  .string()
  .max(64)
  .superRefine((name, check) => {
    const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
    const message = `expected a letter or an underscore, then letters, digits or underscores, received ${quote(name)}`;
    if (!isName) check.addIssue({ code: 'custom', message });
  })
  .refine(...readable);

const MAX_LENGTH = 16_000;
/** Characters of a secret's text: a shorter one would be masked wherever its letters occur. */
const MIN_SECRET = 4;

const Value = Json.refine((value) => JSON.stringify(value).length <= MAX_LENGTH, {
  message: `must have at most ${MAX_LENGTH} characters as JSON`,
});
const description = z.string().max(2_000).nullish();

export const VariableCreate = z
  .object({
    name: Name,
    value: Value.describe('Any JSON value; a text if it is a secret'),
    isSecret: z.boolean().default(false).describe('It is stored encrypted and never shown again'),
    description,
  })
  .superRefine(({ value, isSecret }, check) => {
    const message = isSecret ? faultOfSecret(value) : undefined;
    if (message) check.addIssue({ code: 'custom', path: ['value'], message });
  })
  .meta({ id: 'VariableCreate', examples: [exampleVariableCreate] });

export const VariableUpdate = z
  .object({ value: Value.optional().describe('The mask of a secret stands for the stored one'), description })
  .meta({ id: 'VariableUpdate', examples: [exampleVariableUpdate] });

/** Why a value cannot be a secret; undefined if it can. The text does not repeat the value. */
export function faultOfSecret(value: Json): string | undefined {
  if (typeof value !== 'string') return 'expected a text, because the variable is a secret';
  return value.length < MIN_SECRET ? `expected a secret of at least ${MIN_SECRET} characters` : undefined;
}

export const VariableList = z.object({ ...pageQuery(explorerPage), search: z.string().max(64).optional() });

export const VariableDelete = z.object({
  force: Flag.describe('Deletes it also while published workflows use it'),
});

export const Variable = z
  .object({
    id: z.uuid(),
    tenantID: z.uuid(),
    name: z.string(),
    value: z.unknown().describe('Eight mask characters for a secret'),
    isSecret: z.boolean(),
    isReadable: z.boolean().describe('False: a secret that was sealed with a key that is not here. Give it again'),
    description: z.string().nullable(),
    creatorID: z.uuid(),
    createdByApiKeyID: z.uuid().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Variable', examples: [exampleVariable] });

export const Variables = z.object({ variables: z.array(Variable), ...pageFields }).meta({ id: 'VariablePage' });
