"use strict";
// On a narrow screen long tables begin folded; on paper everything is open.
(() => {
  const folds = document.querySelectorAll("details.folds");
  if (window.innerWidth < 600) for (const one of folds) one.open = false;
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
