import { Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useState } from 'react';
import { referenceRead } from '../../../client/references.ts';
import { useTenantID } from '../../../ui/asset-title.tsx';
import { declaredInputs } from '../../../ui/declared.ts';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { isObject } from '../../../ui/is-object.ts';
import { expressionText } from '../../../values/path.ts';
import { chosenRowsIn, pathOfChosen, sameNames } from '../values/chosen-rows.ts';
import { PageOnCanvas } from '../values/page-now.tsx';
import type { FormProps } from './form-props.ts';

interface Props extends Pick<FormProps, 'action' | 'set' | 'document'> {
  type: 'workflow' | 'dataQuery';
  id: string | undefined;
  /** Inputs that the page gives for all actions, under “Data”. */
  given?: unknown;
}

/** The inputs of what an action runs. */
export function ActionInputs({ id, ...props }: Props) {
  return id === undefined ? null : <Inputs key={id} {...props} id={id} />;
}

function Inputs({ action: { inputValues }, set, document, type, id, given }: Props & { id: string }) {
  // Fields keep what is typed, so they begin anew when they are filled.
  const [fills, setFills] = useState(0);
  const hasOthers = isObject(given) && Object.keys(given).length > 0;
  const value = isObject(inputValues) ? inputValues : undefined;
  return (
    <>
      <FromChosenRow
        {...{ document, type, id }}
        onTake={(taken) => {
          set({ inputValues: { ...value, ...taken } });
          setFills(fills + 1);
        }}
      />
      <DeclaredInputs
        key={fills}
        {...{ type, id, value }}
        label="Inputs of this action"
        description={hasOthers ? 'Empty ones are those that the page gives under “Data”' : undefined}
        root="queries"
        areOptional={hasOthers}
        faultOf={() => undefined}
        other={null}
        onChange={(next) => set({ inputValues: next })}
      />
    </>
  );
}

interface FromRowProps extends Pick<Props, 'document' | 'type'> {
  id: string;
  onTake: (taken: Readonly<Record<string, unknown>>) => void;
}

/** Fills inputs by the chosen row of a table whose columns have their names. */
function FromChosenRow({ document, type, id, onTake }: FromRowProps) {
  const page = useContext(PageOnCanvas);
  const { data } = useQuery(referenceRead(useTenantID(), type, id));
  const inputs = declaredInputs(data?.inputs).map(({ key }) => key);
  const rows = chosenRowsIn(document, page);
  const offers = rows.flatMap((row) => {
    const pairs = sameNames(inputs, row.columns).flatMap(([input, column]) => {
      const expression = expressionText(pathOfChosen(row.name, column), 'template');
      return expression === undefined ? [] : [[input, expression] as const];
    });
    return pairs.length > 0 ? [{ row, values: Object.fromEntries(pairs) }] : [];
  });
  if (offers.length === 0) return null;
  return (
    <Group gap={4}>
      {offers.map(({ row, values }) => (
        <Button key={row.name} size="compact-xs" variant="default" onClick={() => onTake(values)}>
          Take them from the chosen row of&nbsp;<bdi>{row.title}</bdi>
        </Button>
      ))}
    </Group>
  );
}

export function OwnRight({ what }: { what: string }) {
  return (
    <Text size="xs">
      Viewers need the right to {what} themselves. What belongs to the page is run as its creator, and they need none.
    </Text>
  );
}
