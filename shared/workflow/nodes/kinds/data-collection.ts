import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { readable } from '../../reserved.ts';
import { Identifier, OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { exitsByConfig } from '../exits.ts';
import { checkReminders } from '../reminders.ts';
import { requestFields } from '../request-fields.ts';

export const CollectionField = z.object({
  id: z.string().optional().meta({ title: 'ID', description: 'Of the row in the editor; it has no effect' }),
  key: Identifier.refine(...readable).meta({ title: 'Key', description: 'The name of the value in the answer' }),
  label: z.string().optional().meta({ title: 'Label', description: 'What the person is shown' }),
  fieldType: z
    .enum(['text', 'long text', 'number', 'checkbox', 'dropdown'])
    .default('text')
    .meta({ title: 'Type', description: 'How the value is entered' }),
  required: z.boolean().default(false).meta({ title: 'Required', description: 'The answer needs this value' }),
  placeholder: z.string().optional().meta({ title: 'Placeholder', description: 'Shown while the field is empty' }),
  options: z
    .array(
      z.union([
        z.string(),
        z.object({
          label: z.string().meta({ title: 'Label', description: 'What the person is shown' }),
          value: z.string().meta({ title: 'Value', description: 'What the answer has' }),
        }),
      ]),
    )
    .optional()
    .meta({ title: 'Options', description: 'Of a dropdown' }),
});
export type CollectionField = z.infer<typeof CollectionField>;

/** Asks a person and waits for the answer. `expiryMinutes` 0 waits for ever. */
export const dataCollection = defineNode({
  kind: 'dataCollection',
  label: 'Data collection',
  config: z
    .object({
      ...requestFields,
      collectionType: z.literal('form').default('form').meta({ title: 'Type of question', description: 'A form' }),
      fields: z
        .array(CollectionField)
        .default([])
        .meta({ title: 'Fields', description: 'What the person is asked for, unless there is a schema' }),
      formSchema: JsonObject.optional().meta({
        title: 'Schema',
        description: 'JSON Schema of the answer, in place of fields',
      }),
      formUischema: JsonObject.optional().meta({
        title: 'Layout',
        description: 'JSONForms layout of the schema',
      }),
      outputVariable: OutputVariable('collectedData'),
      timeoutHandle: z.string().min(1).optional().meta({
        title: 'Exit without an answer',
        description: 'Taken if the question expires; without it, the node fails',
      }),
    })
    .superRefine(checkReminders),
  names: {},
  exits: exitsByConfig.dataCollection,
  usualExit: 'output',
  needsEdge: ({ timeoutHandle }) => (timeoutHandle ? [timeoutHandle] : []),
  pure: false,
  clocked: false,
  asks: true,
  forms: ['formSchema'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Ask', fields: [{ key: 'answer', label: 'Answer', required: true }], expiryMinutes: 60 },
});
