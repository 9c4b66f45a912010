/** Ids of steps are texts of authors, which have no such character. */
const MARK = '\u2063';

export function boxID(step: string): string {
  return `${MARK}${step}`;
}

/** The step whose card or box a node of the graph is. */
export function stepOfNode(id: string): string {
  return id.startsWith(MARK) ? id.slice(MARK.length) : id;
}
