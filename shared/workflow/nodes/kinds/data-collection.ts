import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { namedEnum } from '../../../core/schema/enum-names.ts';
import { readable } from '../../reserved.ts';
import { Identifier, OutputVariable } from '../common.ts';
import { defineNode } from '../define-node.ts';
import { exitsByConfig, neededExits } from '../exits.ts';
import { checkReminders } from '../reminders.ts';
import { requestFields } from '../request-fields.ts';

export const CollectionField = z.object({
  id: z
    .string()
    .optional()
    .meta({ title: 'ID', description: 'Of the row in the editor; it has no effect', deprecated: true }),
  key: Identifier.refine(...readable).meta({ title: 'Key', description: 'The name of the value in the result' }),
  label: z.string().optional().meta({ title: 'Label', description: 'What the person is shown' }),
  fieldType: namedEnum({
    text: 'Text',
    'long text': 'Text of several lines',
    number: 'Number',
    checkbox: 'Yes or no',
    dropdown: 'Choice of a list',
  })
    .default('text')
    .meta({ title: 'Type', description: 'The kind of field that the person fills in' }),
  required: z.boolean().default(false).meta({ title: 'Required', description: 'An answer without it is refused' }),
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
    .meta({ title: 'Options', description: 'Of a choice of a list' }),
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
        .meta({ title: 'Fields', description: 'What the person fills in, unless there is a schema' }),
      formSchema: JsonObject.optional().meta({
        title: 'Schema',
        contentMediaType: 'application/json',
        description: 'JSON Schema of the answer, in place of the fields: for forms with groups, lists or rules',
      }),
      formUischema: JsonObject.optional().meta({
        title: 'Layout',
        contentMediaType: 'application/json',
        description: 'Layout of the schema for JSON Forms; without it, all its fields below each other',
      }),
      outputVariable: OutputVariable('collectedData'),
      timeoutHandle: z.string().min(1).optional().meta({
        title: 'Exit without an answer',
        description: 'Name of the exit that is taken if the question expires. Empty: the step fails then',
      }),
    })
    .superRefine(checkReminders),
  names: {},
  exits: exitsByConfig.dataCollection,
  usualExit: 'output',
  needsEdge: neededExits.dataCollection,
  pure: false,
  clocked: false,
  asks: true,
  forms: ['formSchema'],
  timeoutSeconds: 60,
  defaultValue: { title: 'Ask', fields: [{ key: 'answer', label: 'Answer', required: true }], expiryMinutes: 60 },
});
