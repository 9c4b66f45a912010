/** The signed-in person behind a request. */
export interface Identity {
  userID: string;
  email: string | null;
}
