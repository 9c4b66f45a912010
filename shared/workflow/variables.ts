/** Tells workers that variables of a tenant have changed. A message that is lost is noticed within a second. */
export const VARIABLES_CHANNEL = 'variables.changed';

/** Variables are `vars.<name>` in templates and code. */
export const VARIABLES_ROOT = 'vars';
