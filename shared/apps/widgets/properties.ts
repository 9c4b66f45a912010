import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';

/** Properties that widget types share. All are optional: a browser has a default for each. */

export function text(title: string, description: string, { max = 1_000 }: { max?: number } = {}) {
  return z.string().max(max).optional().meta({ title, description });
}

/** A list that an expression gives. Forms offer the queries of the page. */
export function rows(title: string, description: string) {
  return z.string().max(1_000).optional().meta({ title, description, 'x-rows': true });
}

/** The address of a file: one of another server, or one that was uploaded. Forms offer the uploaded ones. */
export function file(title: string, description: string) {
  return z.string().max(1_000).optional().meta({ title, description, 'x-file': true });
}

export function flag(title: string, description: string) {
  return z.boolean().optional().meta({ title, description });
}

export function number(title: string, description: string) {
  return z.number().optional().meta({ title, description });
}

export function choice<const Value extends string>(
  title: string,
  description: string,
  values: readonly [Value, ...Value[]],
) {
  return z.enum(values).optional().meta({ title, description });
}

export function object(title: string, description: string) {
  return JsonObject.optional().meta({ title, description });
}

export function list<Item extends z.ZodType>(title: string, description: string, item: Item) {
  return z.array(item).max(1_000).optional().meta({ title, description });
}

/** Choices of a select, of radio buttons or of a group of boxes. */
export const options = list(
  'Choices',
  'What a person can choose from',
  z.object({
    label: text('Label', 'What is shown'),
    value: text('Value', 'What the choice gives'),
  }),
);

/** Properties of what a person enters something into. */
export const input = {
  label: text('Label', 'Shown above the input'),
  defaultValue: text('Initial value', 'What the input has at first', { max: 10_000 }),
  isDisabled: flag('Disabled', 'Nothing can be entered'),
  isRequired: flag('Required', 'A form cannot be sent without a value'),
};

export const placeholder = text('Placeholder', 'Shown while there is no value');
export const color = text('Colour', 'In the notation of CSS');
export const variant = choice('Style', 'What it tells', ['info', 'success', 'warning', 'danger', 'neutral']);
