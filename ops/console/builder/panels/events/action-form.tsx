import { Select, Text } from '@mantine/core';
import type { ComponentType } from 'react';
import { namedBy } from '../../../ui/picked.ts';
import { Picker } from '../../../ui/picker.tsx';
import { boundBy, sourcesOf, variablesOf } from '../config.ts';
import { ChooseSource } from '../data/choose-source.tsx';
import { followedByAll } from '../data/read-again.ts';
import { ReadAgain } from '../data/read-again-field.tsx';
import type { PanelProps } from '../panel.ts';
import { ValueText } from '../values/value-text.tsx';
import { ChooseVariable } from '../variables/choose-variable.tsx';
import { ActionInputs, OwnRight } from './action-inputs.tsx';
import { type ActionType, isActionType, keyOfWidget } from './action-words.ts';
import type { Action } from './actions-of.ts';
import type { FormProps } from './form-props.ts';
import { ParamsField } from './params-field.tsx';
import { StartWorkflow } from './start-workflow.tsx';

interface Props extends Pick<PanelProps, 'document' | 'edit'> {
  action: Action;
  onChange: (action: Action) => void;
}

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
        onChange={(next) => {
          edit((old) => followedByAll(old, 'query', next));
          set({ alias: next });
        }}
      />
      <ActionInputs
        {...{ action, set, document }}
        type="dataQuery"
        id={source && boundBy(source)}
        given={source?.inputValues}
      />
      <ReadAgain {...{ document, edit, source }} />
    </>
  );
}

function RunOtherQuery({ action, set, document }: FormProps) {
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
      <ActionInputs {...{ action, set, document }} type="dataQuery" id={id} />
    </>
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
