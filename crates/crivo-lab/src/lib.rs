//! The study: experiments write data files; plots and the report read only those.
