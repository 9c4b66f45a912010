/** The rooms of the contract: a run's room is its bare id. */
export const rooms = {
  run: (instanceID: string) => instanceID,
  tenant: (tenantID: string) => `tenant:${tenantID}`,
  widget: (key: string) => `widget:${key}`,
  listenerTest: (listenerID: string) => `listener_test:${listenerID}`,
  /** With the tenant: listeners of another may name the page too. */
  appPage: (appPageID: string, tenantID: string) => `${pageRoom(appPageID)}@${tenantID}`,
};

/** As clients name it. */
export function pageRoom(appPageID: string): string {
  return `listener:app_page:${appPageID}`;
}
