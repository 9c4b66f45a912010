import { Select, Text, TextInput } from '@mantine/core';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { DurationInput } from '../../../ui/duration-input.tsx';
import { isObject } from '../../../ui/is-object.ts';
import { MultiSelect } from '../../../ui/multi-select.tsx';
import { Picker } from '../../../ui/picker.tsx';
import type { PageDocument } from '../../document.ts';
import { boundBy, idFieldOf, type Source, sourcesOf, withSource } from '../config.ts';
import { NameField } from '../name-field.tsx';
import type { PanelProps } from '../panel.ts';
import { renamed } from '../rename.ts';
import { PageValues } from '../values/values.tsx';
import { INPUTS } from './add-source.tsx';
import { changesOf, useStates } from './changes.ts';
import { RunColumns } from './run-columns.tsx';
import { RunNow } from './run-now.tsx';
import { pickedTypeOf, pickedWordOf } from './source-types.ts';
import { triggers } from './trigger.ts';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  source: Source;
  /** It has another name from now on. */
  onRenamed: (alias: string) => void;
}

/** A data source: its name, what it binds, with which inputs, and when it is read. */
export function SourceForm({ document, edit, source, onRenamed }: Props) {
  const { alias, type, inputValues, channelName } = source;
  const id = boundBy(source);
  const others = sourcesOf(document.config).filter((one) => one.alias !== alias);
  const root = type === 'workflow' ? 'workflows' : 'queries';
  const set = (part: Readonly<Record<string, unknown>>) =>
    edit((old) => withSource(old, alias, changed(old, alias, part)), `source ${alias}`);
  const inputs = isObject(inputValues) ? inputValues : undefined;
  return (
    <>
      <NameField
        label="Name on this page"
        description={`Expressions read it by {{${root}.${alias}}}. They follow a new name`}
        value={alias}
        taken={others.map((one) => one.alias)}
        onRename={(to) => {
          onRenamed(to);
          edit((old) => renamed(old, { root, from: alias, to }));
        }}
      />
      <Picker
        types={[pickedTypeOf[type]]}
        label={pickedWordOf[type]}
        required
        value={id}
        onChange={(next) => next !== undefined && set({ [idFieldOf[type]]: next, inputValues: undefined })}
      />
      {type === 'listener' && (
        <TextInput
          label="Channel"
          description="As the listener's action that sends to this page names it"
          required
          value={typeof channelName === 'string' ? channelName : ''}
          onChange={({ currentTarget: { value } }) => set({ channelName: value })}
        />
      )}
      {type === 'workflow' && !inputs && (
        <Text size="xs">The buttons and forms that start it give it its inputs, each in its action.</Text>
      )}
      {(type === 'query' || (type === 'workflow' && inputs)) && id !== undefined && (
        <PageValues document={document}>
          <DeclaredInputs
            type={pickedTypeOf[type]}
            id={id}
            label="Inputs"
            description={INPUTS}
            value={inputs}
            root="queries"
            faultOf={() => undefined}
            other={null}
            onChange={(next) => set({ inputValues: next })}
          />
        </PageValues>
      )}
      {type === 'runs' && <RunColumns source={source} set={set} />}
      {(type === 'query' || type === 'runs') && <WhenRead {...{ document, source, set }} />}
      {type === 'query' && id !== undefined && <RunNow dataQueryID={id} inputs={inputs ?? {}} />}
    </>
  );
}

/** The source as it is in the latest document, with another part; what is empty is left out. */
function changed({ config }: PageDocument, alias: string, part: Readonly<Record<string, unknown>>): Source | undefined {
  const now = sourcesOf(config).find((one) => one.alias === alias);
  if (!now) return undefined;
  const all = Object.entries({ ...now, ...part }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(all) as Source;
}

interface WhenProps extends Pick<Props, 'document' | 'source'> {
  set: (part: Readonly<Record<string, unknown>>) => void;
}

function WhenRead({ document, source, set }: WhenProps) {
  const { alias, triggerMode, refreshOn, refetchInterval } = source;
  const trigger = triggers.some(({ value }) => value === triggerMode) ? String(triggerMode) : 'auto';
  const names = Array.isArray(refreshOn) ? refreshOn.map(String) : [];
  const states = useStates(document, alias);
  return (
    <>
      <Select
        label="It is read"
        allowDeselect={false}
        data={triggers}
        value={trigger}
        onChange={(next) => set({ triggerMode: next ?? undefined })}
      />
      {trigger !== 'manual' && (
        <>
          <MultiSelect
            label="And again when these change"
            placeholder={names.length === 0 ? 'None' : ''}
            data={changesOf(document, states, names)}
            value={names}
            onChange={(next) => set({ refreshOn: next.length > 0 ? next : undefined })}
          />
          <DurationInput
            label="And again every"
            description="While the page is in view. Empty: it is not"
            inSeconds
            value={typeof refetchInterval === 'number' && refetchInterval > 0 ? refetchInterval / 1_000 : undefined}
            onChange={(next) =>
              set({ refetchInterval: typeof next === 'number' ? Math.round(next * 1_000) : undefined })
            }
          />
        </>
      )}
    </>
  );
}
