import { isObject } from '../../../ui/is-object.ts';
import { MultiSelect } from '../../../ui/multi-select.tsx';
import type { Source } from '../config.ts';
import { ValueText } from '../values/value-text.tsx';

type Values = Readonly<Record<string, unknown>>;

const columns: Readonly<Record<string, string>> = {
  instanceID: 'Id',
  status: 'State',
  startedBy: 'Started by',
  createdAt: 'Accepted at',
  startedAt: 'Started at',
  completedAt: 'Ended at',
  durationSeconds: 'Took, in seconds',
  errorCode: 'Code of its error',
  canOpen: 'Whether the viewer may open it',
  canStop: 'Whether the viewer may cancel it',
  canRerun: 'Whether the viewer may run it again',
};

/** The columns of runs that a page shows, and the state that they have. */
export function RunColumns({ source, set }: { source: Source; set: (part: Values) => void }) {
  const { runColumns, inputValues } = source;
  const chosen = Array.isArray(runColumns) ? runColumns.map(String) : [];
  const inputs = isObject(inputValues) ? inputValues : {};
  return (
    <>
      <MultiSelect
        label="What viewers see of each"
        placeholder={chosen.length === 0 ? 'All of it' : ''}
        data={Object.entries(columns).map(([value, label]) => ({ value, label }))}
        value={chosen}
        onChange={(next) => set({ runColumns: next.length > 0 ? next : undefined })}
      />
      <ValueText
        label="Only those in the state"
        description="Such as FAILED, or an expression that reads a choice of the viewer. Empty: in any"
        value={inputs.status}
        onChange={(status) => {
          const { status: _, ...others } = inputs;
          set({ inputValues: status === undefined || status === '' ? others : { ...others, status } });
        }}
      />
    </>
  );
}
