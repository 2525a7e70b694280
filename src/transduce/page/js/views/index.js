/** The views, in the order of their worth. */

import * as walk from "./walk.js";
import * as attention from "./attention.js";
import * as query from "./query.js";
import * as tree from "./tree.js";
import * as heads from "./heads.js";
import * as positions from "./positions.js";
import * as next from "./next.js";
import * as family from "./family.js";

export const views = [walk, attention, query, tree, heads, positions, next, family];
