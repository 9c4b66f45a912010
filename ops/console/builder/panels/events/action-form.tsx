import { Select, Text } from '@mantine/core';
import type { ComponentType } from 'react';
import { DeclaredInputs } from '../../../ui/declared-inputs.tsx';
import { isObject } from '../../../ui/is-object.ts';
import { namedBy } from '../../../ui/picked.ts';
import { Picker } from '../../../ui/picker.tsx';
import { boundBy, sourcesOf, variablesOf } from '../config.ts';
import { ChooseSource } from '../data/choose-source.tsx';
import type { PanelProps } from '../panel.ts';
import { ValueText } from '../values/value-text.tsx';
import { ChooseVariable } from '../variables/choose-variable.tsx';
import { type ActionType, isActionType, keyOfWidget } from './action-words.ts';
import type { Action } from './actions-of.ts';
import { ParamsField } from './params-field.tsx';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  action: Action;
  onChange: (action: Action) => void;
}

type FormProps = Omit<Props, 'onChange'> & { set: (part: Action) => void };

/** The fields of an action. Those that it has beside them are kept. */
export function ActionForm({ onChange, ...props }: Props) {
  const { type } = props.action;
  if (!isActionType(type))
    return <Text size="sm">It was made elsewhere, and is kept. The console does nothing at this place.</Text>;
  const set = (part: Action) => {
    const all = { ...props.action, ...part };
    onChange(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
  };
  const Form = forms[type];
  return <Form {...props} set={set} />;
}

const forms: Record<ActionType, ComponentType<FormProps>> = {
  TRIGGER_WORKFLOW: StartWorkflow,
  EXECUTE_QUERY: RunQuery,
  TRIGGER_QUERY: RunOtherQuery,
  SET_VARIABLE: SetVariable,
  CALL_WIDGET_METHOD: CallWidget,
  OPEN_PAGE: OpenPage,
  CONFIRM: ({ action, set }) => (
    <ValueText
      label="Question"
      placeholder="Refund order {{event.row.id}}?"
      required
      value={action.message}
      onChange={(message) => set({ message })}
    />
  ),
  SHOW_TOAST: ShowMessage,
  OPEN_RUN: WhichRun,
  STOP_RUN: WhichRun,
  RERUN: WhichRun,
  NAVIGATE: ({ action, set }) => (
    <ValueText label="Address" placeholder="https://" required value={action.url} onChange={(url) => set({ url })} />
  ),
  COPY: ({ action, set }) => (
    <ValueText label="Value" required value={action.value} onChange={(value) => set({ value })} />
  ),
  DOWNLOAD: ({ action, set }) => (
    <>
      <ValueText
        label="Value"
        description="A text is saved as it is, other values as JSON"
        required
        value={action.value}
        onChange={(value) => set({ value })}
      />
      <ValueText
        label="Name of the file"
        placeholder="download.json"
        value={action.fileName}
        onChange={(fileName) => set({ fileName })}
      />
    </>
  ),
};

function WhichRun({ action, set }: FormProps) {
  return (
    <ValueText
      label="Id of the run"
      placeholder="{{widgets.runs.selectedRow.instanceID}}"
      required
      value={action.instanceID}
      onChange={(instanceID) => set({ instanceID })}
    />
  );
}

const OTHER = ' other';

function StartWorkflow({ action, set, document, edit }: FormProps) {
  const { alias, workflowID } = action;
  const id = namedBy(workflowID);
  const isOther = alias === undefined && workflowID !== undefined;
  const source = sourcesOf(document.config).find((one) => one.type === 'workflow' && one.alias === alias);
  const bound = isOther ? id : source && boundBy(source);
  return (
    <>
      <ChooseSource
        {...{ document, edit }}
        type="workflow"
        label="Workflow"
        other={{ value: OTHER, label: 'One that is not of this page' }}
        value={isOther ? OTHER : alias}
        onChange={(next) =>
          set(next === OTHER ? { alias: undefined, workflowID: '' } : { alias: next, workflowID: undefined })
        }
      />
      {isOther && (
        <>
          <Picker
            types={['workflow']}
            label="Which workflow"
            required
            value={id}
            onChange={(next) => set({ workflowID: next ?? '' })}
          />
          <OwnRight what="start it" />
        </>
      )}
      <Inputs {...{ action, set }} type="workflow" id={bound} isOfPage={!isOther} />
    </>
  );
}

function RunQuery({ action, set, document, edit }: FormProps) {
  const { alias } = action;
  const source = sourcesOf(document.config).find((one) => one.type === 'query' && one.alias === alias);
  return (
    <>
      <ChooseSource
        {...{ document, edit }}
        type="query"
        label="Query"
        value={alias}
        onChange={(next) => set({ alias: next })}
      />
      <Inputs {...{ action, set }} type="dataQuery" id={source && boundBy(source)} isOfPage />
    </>
  );
}

function RunOtherQuery({ action, set }: FormProps) {
  const id = namedBy(action.queryID);
  return (
    <>
      <Picker
        types={['dataQuery']}
        label="Query"
        required
        value={id}
        onChange={(next) => set({ queryID: next ?? '' })}
      />
      <OwnRight what="run it" />
      <Inputs {...{ action, set }} type="dataQuery" id={id} isOfPage={false} />
    </>
  );
}

function OwnRight({ what }: { what: string }) {
  return (
    <Text size="xs">
      Viewers need the right to {what} themselves. What belongs to the page is run as its creator, and they need none.
    </Text>
  );
}

interface InputsProps extends Pick<FormProps, 'action' | 'set'> {
  type: 'workflow' | 'dataQuery';
  id: string | undefined;
  isOfPage: boolean;
}

function Inputs({ action: { inputValues }, set, type, id, isOfPage }: InputsProps) {
  if (id === undefined) return null;
  return (
    <DeclaredInputs
      {...{ type, id }}
      label="Inputs of this action"
      description={isOfPage ? 'Empty ones are those that the page gives under “Data”' : undefined}
      value={isObject(inputValues) ? inputValues : undefined}
      root="queries"
      areOptional={isOfPage}
      faultOf={() => undefined}
      other={null}
      onChange={(next) => set({ inputValues: next })}
    />
  );
}

function SetVariable({ action, set, document, edit }: FormProps) {
  const { key } = action;
  return (
    <>
      <ChooseVariable {...{ document, edit }} value={key} onChange={(next) => set({ key: next })} />
      <ValueText
        label="Value"
        description={
          variablesOf(document.config).length > 0 ? 'Such as {{event.row}} or a text. Empty: nothing' : 'Empty: nothing'
        }
        value={action.value}
        onChange={(value) => set({ value })}
      />
    </>
  );
}

function CallWidget({ action, set, document }: FormProps) {
  const key = keyOfWidget(document, action.widgetKey);
  return (
    <>
      <Select
        label="Widget"
        required
        searchable
        allowDeselect={false}
        data={Object.values(document.widgets).map((one) => ({ value: one.key, label: one.title }))}
        value={key ?? null}
        onChange={(next) => next && set({ widgetKey: next })}
      />
      <Select
        label="What is done"
        allowDeselect={false}
        data={[
          { value: 'refresh', label: 'Its data are read again' },
          { value: 'clear', label: 'What was entered or chosen is emptied' },
        ]}
        value={action.method === 'reset' ? 'clear' : typeof action.method === 'string' ? action.method : null}
        placeholder="Choose"
        onChange={(method) => method && set({ method })}
      />
    </>
  );
}

function ShowMessage({ action, set }: FormProps) {
  return (
    <>
      <ValueText label="Message" required value={action.message} onChange={(message) => set({ message })} />
      <Select
        label="What it tells"
        allowDeselect={false}
        data={[
          { value: 'info', label: 'A note' },
          { value: 'success', label: 'Something has gone well' },
          { value: 'warning', label: 'A warning' },
          { value: 'danger', label: 'Something has failed' },
        ]}
        value={typeof action.variant === 'string' ? action.variant : 'info'}
        onChange={(variant) => variant && set({ variant })}
      />
    </>
  );
}

function OpenPage({ action, set }: FormProps) {
  return (
    <>
      <Picker
        types={['appPage']}
        label="Page"
        required
        value={namedBy(action.appPageID)}
        onChange={(next) => set({ appPageID: next ?? '' })}
      />
      <ParamsField value={action.params} onChange={(params) => set({ params })} />
    </>
  );
}
