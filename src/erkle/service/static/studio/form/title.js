/** The field for the title of a study. */

import { field } from "./fields.js";

// Characters that the server accepts.
const LONGEST = 500;

export const titleField = (options = {}) =>
  field({ label: "Title", required: true, maxlength: LONGEST, autocomplete: "off", ...options });
