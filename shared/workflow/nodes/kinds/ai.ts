import { z } from 'zod';
import { JsonObject } from '../../../core/json.ts';
import { faultsOf } from '../../templates/expressions.ts';
import { findTemplate } from '../../templates/templates.ts';
import { VARIABLES_ROOT } from '../../variables.ts';
import { OutputVariable, working } from '../common.ts';
import { defineNode } from '../define-node.ts';

const Text = z
  .string()
  .max(200_000)
  .superRefine((text, issues) => {
    const [message] = faultsOf(findTemplate(text), 'ctx', VARIABLES_ROOT);
    if (message !== undefined) issues.addIssue({ code: 'custom', message });
  });

/** One question to the tenant's language model. The model gets the tools that the node names and no others. */
export const ai = defineNode({
  kind: 'ai',
  label: 'Language model',
  config: z.object({
    ...working,
    prompt: Text.min(1).meta({
      title: 'Prompt',
      description:
        'What the model is asked. Values of templates reach it as data, whose instructions it must not follow',
    }),
    instructions: Text.default('').meta({
      title: 'Instructions',
      description: 'What the model is and how it should answer; nothing if empty',
    }),
    outputSchema: JsonObject.optional().meta({
      title: 'Schema of the answer',
      contentMediaType: 'application/json',
      description: 'JSON Schema of an object, which the result then is; without it, the result is a text',
    }),
    model: z.string().min(1).max(200).optional().meta({
      title: 'Model',
      description: 'Another model of the provider that the tenant has configured',
    }),
    temperature: z.number().min(0).max(2).optional().meta({
      title: 'Temperature',
      description: 'How much answers to the same prompt may differ. Empty: as the provider sets it',
    }),
    maxOutputTokens: z.int().min(1).max(32_000).default(2_000).meta({
      title: 'Longest answer (tokens)',
      description: 'They are reserved in the budget of the tenant while the model answers',
    }),
    tools: z.array(z.string().min(1).max(128)).max(12).default([]).meta({
      title: 'Tools',
      description:
        'Names of tools that the model may call, as MCP lists them. They do what both the caller of the run and the author who saved the step may do. Naming a tool that changes something approves its calls',
    }),
    outputVariable: OutputVariable('aiAnswer'),
  }),
  names: {},
  authorNeeds: ['ai.execute'],
  tools: 'tools',
  exits: ['success', 'error'],
  usualExit: 'success',
  pure: false,
  clocked: true,
  // The executor marks the values in both texts as data.
  raw: ['prompt', 'instructions', 'outputSchema'],
  filled: ['prompt', 'instructions'],
  forms: ['outputSchema'],
  timeoutSeconds: 120,
  defaultValue: { title: 'Language model', prompt: 'Summarize:\n{{ctx.input.text}}', outputVariable: 'aiAnswer' },
});
