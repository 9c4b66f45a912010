import { z } from 'zod';
import { JsonObject } from '../json.ts';
import { asking } from './asking.ts';
import { Identifier } from './common.ts';
import { defineNode } from './define-node.ts';

export const CollectionField = z.object({
  id: z.string().optional(),
  key: Identifier,
  label: z.string().optional(),
  fieldType: z.enum(['text', 'long text', 'number', 'checkbox', 'dropdown']).default('text'),
  required: z.boolean().default(false),
  placeholder: z.string().optional(),
  options: z.array(z.union([z.string(), z.object({ label: z.string(), value: z.string() })])).optional(),
});
export type CollectionField = z.infer<typeof CollectionField>;

/** Asks a person and waits for the answer. `expiryMinutes` 0 waits for ever. */
export const dataCollection = defineNode({
  kind: 'dataCollection',
  label: 'Data collection',
  config: z.object({
    ...asking,
    collectionType: z.literal('form').default('form'),
    fields: z.array(CollectionField).default([]),
    formSchema: JsonObject.optional(),
    formUischema: JsonObject.optional(),
    outputVariable: Identifier.default('collectedData'),
    timeoutHandle: z.string().min(1).optional(),
  }),
  names: {},
  exits: (config) => ['output', 'error', ...(config.timeoutHandle ? [config.timeoutHandle] : [])],
  usualExit: 'output',
  pure: false,
  clocked: false,
  forms: ['formSchema'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Ask', fields: [{ key: 'answer', label: 'Answer', required: true }], expiryMinutes: 60 },
});
