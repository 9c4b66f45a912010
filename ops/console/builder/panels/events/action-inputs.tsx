import { Text } from '@mantine/core';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { isObject } from '../../../ui/is-object.ts';
import type { FormProps } from './action-form.tsx';

interface Props extends Pick<FormProps, 'action' | 'set' | 'document'> {
  type: 'workflow' | 'dataQuery';
  id: string | undefined;
  /** Inputs that the page gives for all actions, under “Data”. */
  given?: unknown;
}

/** The inputs of what an action runs. */
export function ActionInputs({ action: { inputValues }, set, type, id, given }: Props) {
  if (id === undefined) return null;
  const hasOthers = isObject(given) && Object.keys(given).length > 0;
  return (
    <DeclaredInputs
      {...{ type, id }}
      label="Inputs of this action"
      description={hasOthers ? 'Empty ones are those that the page gives under “Data”' : undefined}
      value={isObject(inputValues) ? inputValues : undefined}
      root="queries"
      areOptional={hasOthers}
      faultOf={() => undefined}
      other={null}
      onChange={(next) => set({ inputValues: next })}
    />
  );
}

export function OwnRight({ what }: { what: string }) {
  return (
    <Text size="xs">
      Viewers need the right to {what} themselves. What belongs to the page is run as its creator, and they need none.
    </Text>
  );
}
