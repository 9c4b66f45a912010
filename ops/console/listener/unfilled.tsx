import { useQuery } from '@tanstack/react-query';
import { referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { useTenantID } from '../ui/asset-title.tsx';
import { declaredInputs } from '../ui/declared.ts';
import { Notice } from '../ui/notice.tsx';

type Action = Schemas['Listener']['actions'][number];

/** What the actions of a listener leave out of the inputs of what they start. */
export function UnfilledInputs({ actions }: { actions: readonly Action[] }) {
  return actions.map(({ actionID, isEnabled, actionConfig: { workflowID, dataQueryID, inputValues } }) => {
    if (!isEnabled) return null;
    if (typeof workflowID === 'string')
      return <Unfilled key={actionID} type="workflow" id={workflowID} given={inputValues} />;
    return (
      typeof dataQueryID === 'string' && (
        <Unfilled key={actionID} type="dataQuery" id={dataQueryID} given={inputValues} />
      )
    );
  });
}

interface Props {
  type: 'workflow' | 'dataQuery';
  id: string;
  /** The values of an action. */
  given: unknown;
}

function Unfilled({ type, id, given }: Props) {
  const { data } = useQuery(referenceRead(useTenantID(), type, id));
  const text = unfilledText(data?.inputs, given, type === 'workflow' ? 'workflow' : 'query');
  return text === undefined ? null : <Notice tone="wait">{text}</Notice>;
}

/** In words what is not filled; undefined where nothing is missing. Without values the whole event is one input. */
export function unfilledText(definitions: unknown, given: unknown, noun: string): string | undefined {
  const inputs = declaredInputs(definitions);
  const values = typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? given : { event: true };
  const empty = inputs.filter(({ key, initial }) => initial === undefined && !Object.hasOwn(values, key));
  const required = empty.filter(({ isRequired }) => isRequired).map(({ label }) => `“${label}”`);
  if (required.length > 0)
    return `Not filled, and the ${noun} requires it: ${required.join(', ')}. Events fail until it is filled.`;
  const isNoneFilled = inputs.length > 0 && inputs.every(({ key }) => !Object.hasOwn(values, key));
  return isNoneFilled
    ? `None of its inputs is filled (${inputs.map(({ label }) => label).join(', ')}): the ${noun} gets the event alone, as “event”.`
    : undefined;
}
