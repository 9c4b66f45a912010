/** Name of the server that `npm start` starts when a worker asks for it. */
export const EMBEDDED_SERVER = 'embedded';

/** Channel on which a worker asks for the start of that server. */
export const TENANT_SERVER_WANTED = 'tenant.server.wanted';
