/** The part of a workflow that the editor opens, as it stands in the address. */
export interface EditorView {
  /** The id of a version to look at; absent: the latest is edited. */
  version?: string;
  /** The id of a step. */
  step?: string;
  /** The run that one comes from, whose results the steps show until a test is made. */
  run?: string;
}

export function parseEditorView({ version, step, run }: Record<string, unknown>): EditorView {
  return {
    ...(typeof version === 'string' && { version }),
    // The address of a router holds a text of digits as a number.
    ...((typeof step === 'string' || typeof step === 'number') && { step: String(step) }),
    ...(typeof run === 'string' && { run }),
  };
}
