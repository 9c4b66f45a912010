import { Stack, Text } from '@mantine/core';
import { type RefObject, useMemo } from 'react';
import { type Offered, OfferedInCode } from '../code/offered.ts';
import { InputList } from '../inputs/list.tsx';
import { faultsWithin } from '../ui/schema-faults.ts';
import { SchemaForm } from '../ui/schema-form.tsx';
import type { Form, Layout } from '../ui/schema-shape.ts';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';
import { unusedInputs } from './inputs-in.ts';
import { sending } from './send-other.ts';

type Options = Readonly<Record<string, unknown>>;

const INPUTS = 'inputDefinitions';

interface Props {
  form: Form;
  options: Options;
  /** The options with the inputs declared that the query names. */
  whole: Options;
  offered: Offered;
  faults: ReadonlyMap<string, string>;
  /** The form that runs the query, which Ctrl Enter in this one sends. */
  runForm: RefObject<HTMLFormElement | null>;
  onChange: (options: Options) => void;
}

/** The text or form of a query, with one list of its inputs: the declared ones, and those that its text names. */
export function QueryForm({ form, options, whole, offered, runForm, onChange, ...props }: Props) {
  const faults = useUnresolvedFaults(props.faults, options);
  const [before, after] = useMemo(() => aroundInputs(form), [form]);
  const unused = useMemo(() => unusedInputs(options), [options]);
  const shared = { value: options, faults, onChange };
  return (
    <form onSubmit={sending(runForm)} noValidate>
      <OfferedInCode value={offered}>
        <Stack gap="sm">
          <SchemaForm form={before} {...shared} />
          <InputList
            of="query"
            definitions={whole[INPUTS]}
            faults={faultsWithin(INPUTS, faults)}
            disabled={false}
            onChange={(definitions) => onChange({ ...options, [INPUTS]: definitions })}
          />
          {unused.length > 0 && (
            <Text size="xs">
              Declared, and used nowhere in the query: <bdi>{unused.join(', ')}</bdi>
            </Text>
          )}
          <SchemaForm form={after} {...shared} />
        </Stack>
      </OfferedInCode>
    </form>
  );
}

/** The fields before the inputs, and those behind them. */
function aroundInputs({ schema, uischema }: Form): [Form, Form] {
  const { elements = [] } = uischema as Layout;
  const at = elements.findIndex(({ scope }) => scope === `#/properties/${INPUTS}`);
  const part = (some: readonly Layout[]) => ({ schema, uischema: { ...uischema, elements: some } });
  return at === -1 ? [part(elements), part([])] : [part(elements.slice(0, at)), part(elements.slice(at + 1))];
}
