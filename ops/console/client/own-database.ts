/** The type of the tenant's own database, which needs no datasource. */
export const OWN = 'tenantdb';
export const OWN_TITLE = "This tenant's database";
