/** Links that answer the questions of other nodes are `links.<id of the node>` in templates. */
export const LINKS_ROOT = 'links';
