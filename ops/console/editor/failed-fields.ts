import { useRef } from 'react';
import { faultsOfError } from '../run/error-fields.ts';
import type { Tests } from '../testing/use-tests.ts';
import { unresolvedFaults } from '../ui/schema-value.ts';
import type { Config, DraftNode } from './draft.ts';

type Faults = ReadonlyMap<string, string>;

const none: Faults = new Map();

/** The fields of a step that the error of its shown run names, until they have other values: a person who comes from it looks for them. */
export function useFailedFields(tests: Pick<Tests, 'results'> | undefined, node: DraftNode | undefined): Faults {
  /** Settings with which a step is compared, by its id, and the error to which they belong. */
  const seen = useRef(new Map<string, { mark: string; data: Config }>());
  const result = node && tests?.results.get(node.id);
  const last = result?.steps.shown.last;
  if (!node || !result || !last?.error) return none;
  const mark = `${result.run.instanceID} ${last.seq}`;
  const known = seen.current.get(node.id);
  const data = known?.mark === mark ? known.data : settingsIn(result.tested?.nodes, node);
  seen.current.set(node.id, { mark, data });
  const faults = unresolvedFaults(faultsOfError(last.error), data, node.data);
  return new Map([...faults].map(([path, message]) => [path, `Failed in the run that is shown: ${message}`]));
}

/** The settings that were tested; of a run that one comes from, those that the step has when one looks at it first. */
function settingsIn(tested: readonly { id: string; data: Config }[] | undefined, { id, data }: DraftNode): Config {
  return tested?.find((one) => one.id === id)?.data ?? data;
}
