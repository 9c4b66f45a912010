import { type Plan, Planning } from './plan.ts';

interface Wanted {
  workflow: { id: string; title: string };
  title: string;
  newID: () => string;
}

const ROW = 'widgets.runs.selectedRow';
const RUN = `{{${ROW}.instanceID}}`;
/** Hides a button unless the viewer may do it with the chosen run. */
const unless = (may: string) => `{{${ROW}.${may} | yesno: "false", "true"}}`;
const again = { type: 'CALL_WIDGET_METHOD', widgetKey: 'runs', method: 'refresh' };

const states = [
  ['PENDING', 'Waits for its turn'],
  ['RUNNING', 'Running'],
  ['WAITING', 'Waiting'],
  ['COMPLETED', 'Completed'],
  ['FAILED', 'Failed'],
  ['CANCELLED', 'Cancelled'],
].map(([value, label]) => ({ value, label }));

/** The runs of a workflow by their state; who may, opens the chosen one, cancels it and runs it again. */
export function boardOfRuns({ workflow, title, newID }: Wanted): Plan {
  const planning = new Planning(newID);
  planning.bind(
    'runs',
    { type: 'workflow', id: workflow.id },
    {
      ...{ type: 'runs', triggerMode: 'reactive', refetchInterval: 10_000 },
      runColumns: [
        ...['instanceID', 'status', 'startedBy', 'startedAt', 'durationSeconds', 'errorCode'],
        ...['canOpen', 'canStop', 'canRerun'],
      ],
      inputValues: {
        status: '{{widgets.state.value}}',
        offset: '{{widgets.runs.offset}}',
        pageSize: '{{widgets.runs.pageSize}}',
      },
    },
  );
  const state = planning.widget(
    'state',
    'select',
    { title: 'State', properties: { label: 'State', options: states, placeholder: 'All' } },
    { span: 3 },
  );
  const list = planning.widget('runs', 'table', {
    title: `Runs of ${workflow.title}`,
    properties: {
      ...{ items: '{{queries.runs.data}}', total: '{{queries.runs.rowCount}}', pageSize: 20, isSelectable: true },
      columns: [
        { key: 'startedAt', label: 'Started at', type: 'date' },
        { key: 'status', label: 'State', type: 'badge' },
        { key: 'startedBy', label: 'Started by' },
        { key: 'durationSeconds', label: 'Took (s)', type: 'number' },
        { key: 'errorCode', label: 'Error' },
      ],
    },
  });
  const open = planning.widget('open', 'button', {
    title: 'Open the run',
    properties: { label: 'Open the run', variant: 'neutral', isHidden: unless('canOpen') },
    events: { onClick: [{ type: 'OPEN_RUN', instanceID: RUN }] },
  });
  const cancel = planning.widget('cancel', 'button', {
    title: 'Cancel the run',
    properties: {
      ...{ label: 'Cancel the run', variant: 'danger', isHidden: unless('canStop') },
      confirmation: 'Cancel this run, and all that it has started?',
    },
    events: { onClick: [{ type: 'STOP_RUN', instanceID: RUN }, { type: 'SHOW_TOAST', message: 'Cancelled' }, again] },
  });
  const repeat = planning.widget('repeat', 'button', {
    title: 'Run it again',
    properties: {
      ...{ label: 'Run it again', isHidden: unless('canRerun') },
      confirmation: 'Run it again from its start, with the same input?',
    },
    events: { onClick: [{ type: 'RERUN', instanceID: RUN }, { type: 'SHOW_TOAST', message: 'Started again' }, again] },
  });
  const description = `Runs of the workflow ${workflow.title}.`;
  return planning.plan(title, description, [planning.row(state), list, planning.row(open, cancel, repeat)]);
}
