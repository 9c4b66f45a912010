import { inputShape } from '#shared/workflow/nodes/results.ts';
import { partsOf, type Value, type Values } from '../../values/value.ts';

/** Values that are known before a run begins, which are its inputs: no step has a result yet, and variables are not read. */
export function valuesBefore(definitions: unknown, sample: unknown): Values {
  const input: Value = { path: ['ctx', 'input'], name: 'All inputs', shape: inputShape(definitions), sample };
  const values = [...partsOf(input)];
  return {
    ...{ input, groups: values.length > 0 ? [{ title: 'Inputs', values }] : [] },
    ...{ source: 'input', roots: ['ctx'], elsewhere: new Map(), open: new Set() },
  };
}
