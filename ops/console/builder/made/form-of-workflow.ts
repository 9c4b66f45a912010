import { fieldOfInput, inputsOf } from './inputs.ts';
import { type Plan, Planning } from './plan.ts';

interface Wanted {
  workflow: { id: string; title: string; description: string; inputDefinitions: unknown };
  title: string;
  newID: () => string;
}

/** A form by the declared inputs of a workflow. Its run is shown below it: how far it is, what it asks, and what it has come to. */
export function formOfWorkflow({ workflow, title, newID }: Wanted): Plan {
  const planning = new Planning(newID);
  const inputs = inputsOf(workflow.inputDefinitions);
  planning.bind(
    'run',
    { type: 'workflow', id: workflow.id },
    {
      triggerMode: 'manual',
      inputValues: Object.fromEntries(inputs.map(({ key }) => [key, `{{event.values[${JSON.stringify(key)}]}}`])),
    },
  );
  const start = [{ type: 'TRIGGER_WORKFLOW', alias: 'run' }];
  const ask =
    inputs.length === 0
      ? planning.widget('start', 'button', {
          title: workflow.title,
          properties: { label: 'Start' },
          events: { onSubmit: start },
        })
      : planning.widget('start', 'form', {
          title: workflow.title,
          properties: { fields: inputs.map(fieldOfInput), submitLabel: 'Start' },
          events: { onSubmit: start },
        });
  const result = planning.widget('result', 'key-value', {
    title: 'Result',
    properties: {
      values: '{{workflows.run.output}}',
      isHidden: '{{workflows.run.status | equals: "COMPLETED" | yesno: "false", "true"}}',
    },
  });
  const description = workflow.description === '' ? `Starts the workflow ${workflow.title}.` : workflow.description;
  return planning.plan(title, description, [{ ...ask, span: 12 }, result]);
}
