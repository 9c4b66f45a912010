import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { isPicked, type PickedType, referenceRead } from '../client/references.ts';
import type { Kind, Kinds } from '../graph/kinds.ts';
import { isID } from '../ui/picked.ts';
import { propertiesOf, referenceOf } from '../ui/schema-shape.ts';
import { type Config, type Draft, type DraftNode, firstFree, withConfig } from './draft.ts';

interface Titled {
  tenantID: string;
  node: DraftNode | undefined;
  kinds: Kinds;
  onChange: (change: (draft: Draft) => Draft, what?: string) => void;
}

/** Calls the step that is open by the query or the workflow that is chosen for it, unless a person has given it a title. */
export function useTitleOfNamed({ tenantID, node, kinds, onChange }: Titled): void {
  const queries = useQueryClient();
  const before = useRef<{ step: string | undefined; id: string | undefined }>(undefined);
  /** Titles that were given here. */
  const given = useRef(new Set<unknown>());
  const step = node?.id;
  const { type, id } = namedBy(kinds[node?.type ?? ''], node?.data ?? {}) ?? {};
  useEffect(() => {
    const last = before.current;
    before.current = { step, id };
    if (last?.step !== step || last?.id === id || !type || !id || step === undefined) return;
    const rename = (title: string) =>
      onChange((draft) => renamed(draft, { step, title, kinds, given: given.current }), `step ${step}`);
    // Without a title the step stays called as it is.
    queries.fetchQuery(referenceRead(tenantID, type, id)).then(
      ({ title }) => rename(title),
      () => undefined,
    );
  }, [step, type, id, tenantID, kinds, queries, onChange]);
}

/** The first asset that a config names by its id. */
function namedBy(kind: Kind | undefined, data: Config): { type: PickedType; id: string } | undefined {
  for (const [field, schema] of Object.entries(propertiesOf(kind?.schema ?? {}))) {
    const type = referenceOf(schema)?.types.find(isPicked);
    const id = data[field];
    if (type && typeof id === 'string' && isID(id)) return { type, id };
  }
  return undefined;
}

interface Renaming {
  step: string;
  title: string;
  kinds: Kinds;
  given: Set<unknown>;
}

function renamed(draft: Draft, { step, title, kinds, given }: Renaming): Draft {
  const node = draft.nodes.find(({ id }) => id === step);
  if (!node || !(given.has(node.data.title) || isUsual(node, kinds))) return draft;
  const taken = draft.nodes.flatMap((other) => (other === node ? [] : [other.data.title]));
  const own = firstFree(taken, (number) => (number === 1 ? title : `${title} ${number}`));
  given.add(own);
  return withConfig(draft, step, { ...node.data, title: own });
}

/** Whether a step is called as a new one of its kind is, with or without a number. */
function isUsual({ type, data: { title } }: DraftNode, kinds: Kinds): boolean {
  const usual = String(kinds[type]?.defaultValue.title ?? '');
  return title === undefined || (typeof title === 'string' && title.replace(/ \d+$/, '') === usual);
}
