import { useQuery } from '@tanstack/react-query';
import { referenceRead } from '../client/references.ts';
import type { Schemas } from '../client/types.ts';
import { useTenantID } from '../ui/asset-title.tsx';
import { Notice } from '../ui/notice.tsx';
import { unfilledText } from './unfilled-text.ts';

type Action = Schemas['Listener']['actions'][number];

/** The inputs that the actions of a listener leave out of what they start. */
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
