/** A query that its form has created: the page of the query begins with what was entered beside the form. */
export interface JustCreated {
  dataQueryID: string;
  /** The inputs with which it was tried. */
  inputs: Readonly<Record<string, unknown>> | undefined;
}

let latest: JustCreated | undefined;

export function leaveCreated(created: JustCreated): void {
  latest = created;
}

/** Absent: the query was not created in the form before this page. */
export function createdBefore(dataQueryID: string): JustCreated | undefined {
  return latest?.dataQueryID === dataQueryID ? latest : undefined;
}

export function forgetCreated(): void {
  latest = undefined;
}
