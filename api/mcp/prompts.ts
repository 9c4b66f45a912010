import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';
import { invalidParams } from './protocol-errors.ts';

interface Known {
  prompt: Prompt;
  text(given: Readonly<Record<string, string>>): string;
}

const known: readonly Known[] = [
  {
    prompt: {
      name: 'explain_failed_run',
      title: 'Explain a failed run',
      description: 'Finds out why a run failed, and how to mend it',
      arguments: [{ name: 'instanceID', description: 'The run', required: true }],
    },
    text: ({ instanceID }) =>
      `Find out why the run ${instanceID} failed. Read it with get_workflow_instance, then its logs with get_workflow_instance_logs, then the workflow. Say which node failed, why, and what to change. Change nothing, and do not run it again, before I agree.`,
  },
  {
    prompt: {
      name: 'build_workflow',
      title: 'Build a workflow',
      description: 'Builds a workflow for a goal, tries it, and stores it',
      arguments: [{ name: 'goal', description: 'What the workflow shall do', required: true }],
    },
    text: ({ goal }) =>
      `Build a workflow that does this: ${goal}\nLook with get_tenant_resource_summary at what there is, and read get_workflow_schema for each node that you use. Show me the graph before you store it. Store it with create_workflow, check it with plan_workflow, and execute it only when I agree.`,
  },
  {
    prompt: {
      name: 'review_failures',
      title: 'Review failures',
      description: 'Lists what failed lately: runs and dead letters',
      arguments: [],
    },
    text: () =>
      'List the runs that failed lately with list_workflow_instances, and the dead letters of each listener with list_listener_events. Group them by cause, say which can be repeated safely, and wait for my answer before you repeat any.',
  },
];

export const prompts: Prompt[] = known.map(({ prompt }) => prompt);

export function findPrompt({
  name,
  arguments: given = {},
}: {
  name: string;
  arguments?: Record<string, string> | undefined;
}): GetPromptResult {
  const found = find(name);
  for (const { name: argument, required } of found.prompt.arguments ?? [])
    if (required && !given[argument]) throw invalidParams(`${argument}: expected a text`);
  return {
    description: found.prompt.description ?? '',
    messages: [{ role: 'user', content: { type: 'text', text: found.text(given) } }],
  };
}

export function findArguments(name: string): string[] {
  return (find(name).prompt.arguments ?? []).map((argument) => argument.name);
}

function find(name: string): Known {
  const found = known.find(({ prompt }) => prompt.name === name);
  if (!found) throw invalidParams(`There is no prompt ${JSON.stringify(name.slice(0, 100))}`);
  return found;
}
