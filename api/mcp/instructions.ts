/** Sentences about the service, each with the tools that it names. */
const sentences: readonly { needs: readonly string[]; text: string }[] = [
  {
    needs: ['find_assets', 'read_asset'],
    text: 'Begin with find_assets: it gives the ids that other tools take. read_asset shows one asset whole.',
  },
  {
    needs: ['run_workflow', 'get_run'],
    text: 'run_workflow waits for the end of a run; get_run follows one that has not ended, and explains one that failed.',
  },
  { needs: ['list_failures'], text: 'list_failures answers what went wrong lately.' },
  {
    needs: ['get_form', 'save_workflow', 'save_page'],
    text: 'Before you write a definition, read the form with get_form. save_workflow and save_page store drafts and name problems by step and field; publish only when the user agrees.',
  },
  { needs: ['search_docs'], text: 'search_docs answers how something works here.' },
  {
    needs: ['find_tools', 'call_tool'],
    text: 'For anything else (members, roles, keys, cron jobs, listeners, bundles, audit …) there are more tools: find_tools finds them, call_tool calls them.',
  },
  {
    needs: ['search_tools', 'call_tool'],
    text: 'search_tools finds tools by words of what you want to do, call_tool calls them.',
  },
];

/** The instructions for a client whose list has these tools: no tool is named that it does not have. */
export function instructionsFor(listed: ReadonlySet<string>): string {
  const fitting = sentences.filter(({ needs }) => needs.every((name) => listed.has(name)));
  return [
    'Gantry is a backend for admin applications: datasources, queries, workflows, listeners, cron jobs, widgets and pages of one tenant.',
    ...fitting.map(({ text }) => text),
  ].join(' ');
}
