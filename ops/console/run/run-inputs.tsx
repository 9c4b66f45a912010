import { declaredInputs } from '../ui/declared.ts';
import { InputFields } from '../ui/declared-inputs.tsx';
import { NoInputs } from '../ui/no-inputs.tsx';
import { JSONControl } from '../ui/schema-control.tsx';
import { useUnresolvedFaults } from '../ui/unresolved-faults.ts';

export type RunInput = Readonly<Record<string, unknown>>;

interface Props {
  /** The declared inputs of the workflow. */
  definitions: unknown;
  value: RunInput | undefined;
  onChange: (value: RunInput | undefined) => void;
  /** Faults of the API by the names of inputs. */
  faults: ReadonlyMap<string, string>;
}

/** The input of a run: a field for each declared input, else JSON. */
export function RunInputs({ definitions, value, onChange, faults: all }: Props) {
  const inputs = declaredInputs(definitions);
  const faults = useUnresolvedFaults(all, value);
  const isGiven = value !== undefined && Object.keys(value).length > 0;
  const faultOf = (key: string) => faults.get(key) ?? [...faults].find(([path]) => path.startsWith(`${key}.`))?.[1];
  if (inputs.length > 0)
    return <InputFields label="Inputs" noun="workflow" root={undefined} {...{ inputs, value, onChange, faultOf }} />;
  return (
    <NoInputs noun="workflow" isOpen={isGiven || faults.size > 0}>
      <JSONControl
        label="Inputs"
        description="A JSON object, which steps read behind ctx.input"
        error={[...faults.values()][0]}
        required={false}
        disabled={false}
        isCode
        value={value}
        onChange={(next) => onChange(next as RunInput | undefined)}
      />
    </NoInputs>
  );
}
