/** The channel on which workers learn that variables of a tenant have changed. After a lost message they notice it within a second. */
export const VARIABLES_CHANNEL = 'variables.changed';

/** Variables are `vars.<name>` in templates and code. */
export const VARIABLES_ROOT = 'vars';
