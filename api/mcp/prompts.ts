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
      `Find out why the run ${instanceID} failed. Read it with get_run, then its workflow with read_asset. Say which step failed, why, and what to change. Change nothing, and do not run it again, before I agree.`,
  },
  {
    prompt: {
      name: 'build_workflow',
      title: 'Build a workflow',
      description: 'Builds a workflow for a goal, tries it, and stores it',
      arguments: [{ name: 'goal', description: 'What the workflow shall do', required: true }],
    },
    text: ({ goal }) =>
      `Build a workflow that does this: ${goal}\nLook with find_assets at what there is, and read the form of each step that you use with get_form. Show me the graph before you store it. Store it as a draft with save_workflow, mend the problems that it names, and publish and run it only when I agree.`,
  },
  {
    prompt: {
      name: 'review_failures',
      title: 'Review failures',
      description: 'Lists what failed lately: runs and dead letters',
      arguments: [],
    },
    text: () =>
      'List what failed lately with list_failures, and look at one run of each group with get_run. Say what the causes are and which runs can be repeated safely, and wait for my answer before you repeat any.',
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
